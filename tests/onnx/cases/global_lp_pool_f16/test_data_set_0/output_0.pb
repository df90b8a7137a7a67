
J
∆g hg	füg