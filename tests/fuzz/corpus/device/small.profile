name = a device # comment
cores = 4
tier = l2 1e6 300 20 measured
matrix = 16 16 16 f16 f32
is_cpu = 1
launch_ns = 1.5
