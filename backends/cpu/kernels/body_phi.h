/* Phi(-t) of gelu, t >= 0, by a table: a polynomial of degree 4 in t - 47/256 i for each of 32 values of i, its
 * coefficients looked up in registers. For instruction sets with v_lookup32. The absolute error is below 2^-26, which
 * is what gelu needs; beyond 5.6 it is 0. docs/cpu-kernels.md tells how the coefficients were made. */
#define PHI_DEGREE 4
static const float phi_table[PHI_DEGREE + 1][32] = {
    {0x1p-1f,         0x1.b56b06p-2f,  0x1.6d4d24p-2f,  0x1.29df8cp-2f,
     0x1.d9d354p-3f,  0x1.6f3e12p-3f,  0x1.1525c6p-3f,  0x1.9703cap-4f,
     0x1.229ccap-4f,  0x1.934f82p-5f,  0x1.0fd6bep-5f,  0x1.63cb92p-6f,
     0x1.c3f7d2p-7f,  0x1.168508p-7f,  0x1.4cf1f8p-8f,  0x1.81eebcp-9f,
     0x1.b1ad9cp-10f, 0x1.d85532p-11f, 0x1.f2816p-12f,  0x1.fdc042p-13f,
     0x1.f8f26ap-14f, 0x1.e479ep-15f,  0x1.c22d4ap-16f, 0x1.9511aap-17f,
     0x1.60e924p-18f, 0x1.29ae22p-19f, 0x1.e6285cp-21f, 0x1.8048bep-22f,
     0x1.2604cap-23f, 0x1.b37532p-25f, 0x1.381704p-26f, 0},
    {-0x1.98845p-2f,   -0x1.91b092p-2f,  -0x1.7de29p-2f,   -0x1.5f0606p-2f,
     -0x1.37f628p-2f,  -0x1.0c0e9ep-2f,  -0x1.bd65p-3f,    -0x1.65c306p-3f,
     -0x1.15d8a4p-3f,  -0x1.a14278p-4f,  -0x1.2eed9p-4f,   -0x1.a944e2p-5f,
     -0x1.209d8ep-5f,  -0x1.7ac32p-6f,   -0x1.e09718p-7f,  -0x1.26ca8p-7f,
     -0x1.5da8bap-8f,  -0x1.90fe2p-9f,   -0x1.bc9ec8p-10f, -0x1.dca75ep-11f,
     -0x1.ee0ed6p-12f, -0x1.ef1faep-13f, -0x1.dfbebcp-14f, -0x1.c16fbp-15f,
     -0x1.97161ep-16f, -0x1.648154p-17f, -0x1.2ddc32p-18f, -0x1.ee3d02p-20f,
     -0x1.8732ecp-21f, -0x1.2b60bp-22f,  -0x1.bb074cp-24f, 0},
    {-0x1.5a38dcp-18f, 0x1.27043ap-5f,  0x1.1872cap-4f,  0x1.82a796p-4f,
     0x1.ca3352p-4f,   0x1.ec2636p-4f,  0x1.eaa472p-4f,  0x1.cbc65p-4f,
     0x1.981574p-4f,   0x1.58ba38p-4f,  0x1.1613a2p-4f,  0x1.ad6cbcp-5f,
     0x1.3ded4ap-5f,   0x1.c40024p-6f,  0x1.34d188p-6f,  0x1.95ea16p-7f,
     0x1.00c818p-7f,   0x1.38e2cep-8f,  0x1.6f55c6p-9f,  0x1.9fadbcp-10f,
     0x1.c588c8p-11f,  0x1.dd3cf4p-12f, 0x1.e46fd6p-13f, 0x1.da762p-14f,
     0x1.c0708ep-15f,  0x1.99154ap-16f, 0x1.683c56p-17f, 0x1.3240a2p-18f,
     0x1.f6c414p-20f,  0x1.8e804ep-21f, 0x1.31067cp-22f, 0},
    {0x1.110b2ep-4f,   0x1.02804cp-4f,   0x1.b7f1acp-5f,   0x1.45dc3p-5f,
     0x1.7f3888p-6f,   0x1.c32ee2p-8f,   -0x1.f8b804p-8f,  -0x1.35fe34p-6f,
     -0x1.abc0ecp-6f,  -0x1.e07756p-6f,  -0x1.de33fep-6f,  -0x1.b41574p-6f,
     -0x1.72a432p-6f,  -0x1.288314p-6f,  -0x1.c159cep-7f,  -0x1.43de6ap-7f,
     -0x1.bd5e3p-8f,   -0x1.24cafep-8f,  -0x1.70b2cp-9f,   -0x1.bd4026p-10f,
     -0x1.0218ecp-10f, -0x1.1f805cp-11f, -0x1.33ee9ap-12f, -0x1.3d4efep-13f,
     -0x1.3aba6p-14f,  -0x1.2c9b8p-15f,  -0x1.14973p-16f,  -0x1.ea779ep-18f,
     -0x1.a3295p-19f,  -0x1.595eeep-20f, -0x1.126bc8p-21f, 0},
    {-0x1.233da2p-9f, -0x1.2b675ep-7f,  -0x1.0c0628p-6f, -0x1.534f3cp-6f,
     -0x1.7ab004p-6f, -0x1.66badcp-6f,  -0x1.287e4ep-6f, -0x1.9a1ccep-7f,
     -0x1.c7a174p-8f, -0x1.f12daap-10f, 0x1.14a06cp-9f,  0x1.322502p-8f,
     0x1.88d734p-8f,  0x1.956e56p-8f,   0x1.728edp-8f,   0x1.360d6cp-8f,
     0x1.e2055ap-9f,  0x1.5fc996p-9f,   0x1.e5b44ap-10f, 0x1.3e4f7p-10f,
     0x1.8d4f9ap-11f, 0x1.d9a00ap-12f,  0x1.0de3f6p-12f, 0x1.26ac5ep-13f,
     0x1.34800ep-14f, 0x1.36124ap-15f,  0x1.2b425ep-16f, 0x1.159db2p-17f,
     0x1.ef6c78p-19f, 0x1.a946a4p-20f,  0x1.5f7142p-21f, 0},
};
static const float phi_tanh_table[PHI_DEGREE + 1][32] = {
    {0x1p-1f,         0x1.b56b8cp-2f,  0x1.6d5106p-2f,  0x1.29eb26p-2f,
     0x1.da0162p-3f,  0x1.6f84bap-3f,  0x1.157eacp-3f,  0x1.97be64p-4f,
     0x1.233ce6p-4f,  0x1.9419d6p-5f,  0x1.100302p-5f,  0x1.62dceap-6f,
     0x1.bff954p-7f,  0x1.11293p-7f,   0x1.413ab2p-8f,  0x1.6b855p-9f,
     0x1.8b0268p-10f, 0x1.9b2fbp-11f,  0x1.990a62p-12f, 0x1.83e20ep-13f,
     0x1.5db9f2p-14f, 0x1.2b08ap-15f,  0x1.e3b0b6p-17f, 0x1.710888p-18f,
     0x1.08e8c8p-19f, 0x1.64e5a8p-21f, 0x1.c202c8p-23f, 0x1.08d2dcp-24f,
     0x1.222bc4p-26f, 0x1.27364p-28f,  0x1.1621p-30f,   0},
    {-0x1.98845p-2f,   -0x1.91a822p-2f,  -0x1.7dc4e4p-2f,  -0x1.5ed03ap-2f,
     -0x1.37b23p-2f,   -0x1.0bd074p-2f,  -0x1.bd21c6p-3f,  -0x1.65d9fp-3f,
     -0x1.1650b4p-3f,  -0x1.a2c8bep-4f,  -0x1.30b3f4p-4f,  -0x1.ac8fa6p-5f,
     -0x1.230b86p-5f,  -0x1.7d4ac8p-6f,  -0x1.e113f4p-7f,  -0x1.23c0a2p-7f,
     -0x1.537b52p-8f,  -0x1.7a18b6p-9f,  -0x1.9215a4p-10f, -0x1.973eecp-11f,
     -0x1.87d1b4p-12f, -0x1.6526ccp-13f, -0x1.339b84p-14f, -0x1.f35402p-16f,
     -0x1.7ce3a8p-17f, -0x1.105638p-18f, -0x1.6c119cp-20f, -0x1.c5c85cp-22f,
     -0x1.06fa78p-23f, -0x1.1ab0fcp-25f, -0x1.1917b4p-27f, 0},
    {-0x1.5e1c62p-18f, 0x1.285d78p-5f,  0x1.1985d4p-4f,  0x1.839b76p-4f,
     0x1.ca6f6cp-4f,   0x1.eb6434p-4f,  0x1.e8fcdap-4f,  0x1.c9ad98p-4f,
     0x1.96277p-4f,    0x1.578a34p-4f,  0x1.15ec5ep-4f,  0x1.af0fe4p-5f,
     0x1.40d7b2p-5f,   0x1.ca8e34p-6f,  0x1.3a7daap-6f,  0x1.9d9426p-7f,
     0x1.0451f4p-7f,   0x1.3916acp-8f,  0x1.66f1c2p-9f,  0x1.874f5p-10f,
     0x1.9499eep-11f,  0x1.8bb9e6p-12f, 0x1.6d23dap-13f, 0x1.3cfff4p-14f,
     0x1.023f0ep-15f,  0x1.89c9a8p-17f, 0x1.183ecep-18f, 0x1.7359e4p-20f,
     0x1.c8eabcp-22f,  0x1.04566ep-23f, 0x1.120a92p-25f, 0},
    {0x1.12674ep-4f,   0x1.036c7ep-4f,   0x1.b89c1ep-5f,   0x1.4458b4p-5f,
     0x1.78e502p-6f,   0x1.a6ee6p-8f,    -0x1.06693cp-7f,  -0x1.36fce4p-6f,
     -0x1.a850bap-6f,  -0x1.d9a4d4p-6f,  -0x1.d6777ap-6f,  -0x1.adf748p-6f,
     -0x1.6f9f4cp-6f,  -0x1.28c82cp-6f,  -0x1.c6b54cp-7f,  -0x1.4b56p-7f,
     -0x1.cb928ap-8f,  -0x1.2f29aep-8f,  -0x1.7be90ep-9f,  -0x1.c355fp-10f,
     -0x1.fb2cf6p-11f, -0x1.0ce118p-11f, -0x1.0c52c4p-12f, -0x1.f6c10ap-14f,
     -0x1.b90992p-15f, -0x1.695dc4p-16f, -0x1.13da0cp-17f, -0x1.8761fcp-19f,
     -0x1.016266p-20f, -0x1.3909b8p-22f, -0x1.5f2fb4p-24f, 0},
    {-0x1.29359cp-9f, -0x1.2a75bp-7f,   -0x1.18eae2p-6f, -0x1.6ccffep-6f,
     -0x1.808eacp-6f, -0x1.601dc6p-6f,  -0x1.1ef716p-6f, -0x1.8f36e4p-7f,
     -0x1.af1bc4p-8f, -0x1.c7771ap-10f, 0x1.0b1182p-9f,  0x1.25f178p-8f,
     0x1.751a8p-8f,   0x1.853c02p-8f,   0x1.699f26p-8f,  0x1.341b54p-8f,
     0x1.e93d0cp-9f,  0x1.6c782ap-9f,   0x1.fee8b4p-10f, 0x1.50f8cp-10f,
     0x1.a1d9c8p-11f, 0x1.e66852p-12f,  0x1.094dacp-12f, 0x1.0e92acp-13f,
     0x1.016f18p-14f, 0x1.c8019p-16f,   0x1.7719dcp-17f, 0x1.1de7c2p-18f,
     0x1.92f34p-20f,  0x1.05ea7cp-21f,  0x1.395a4p-23f,  0},
};

VINL vf v_phi_minus(vf t, const float table[PHI_DEGREE + 1][32]) {
  const float width = 0x1.78p-3f, magic = 0x1.8p23f; /* adding magic rounds to an integer in the lowest bits */
  vf near = v_fma(t, v_set1(1 / width), v_set1(magic)), r = v_fnma(near - magic, v_set1(width), t),
     p = v_lookup32(table[PHI_DEGREE], (vi)near);
  CPUK_UNROLL
  for (int i = PHI_DEGREE - 1; i >= 0; i--) p = v_fma(p, r, v_lookup32(table[i], (vi)near));
  return p;
}
/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), where max(x, 0) of a negative x is -0: what underflows then stays negative. */
VINL vf v_gelu_table(vf x, const float table[PHI_DEGREE + 1][32]) {
  vf t = v_min_raw(v_set1(31 * 0x1.78p-3f), v_abs(x));
  return v_fnma(t, v_phi_minus(t, table), v_max_raw(v_set1(-0.0f), x));
}
VINL vf v_gelu(vf x) { return v_gelu_table(x, phi_table); }
VINL vf v_gelu_tanh(vf x) { return v_gelu_table(x, phi_tanh_table); }
