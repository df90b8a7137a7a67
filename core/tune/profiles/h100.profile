# Appendix A.2, row Hopper (H100): an advisory profile. Rates are the data sheet's (SXM). Real limits are queried.
