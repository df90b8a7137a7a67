%0 = "tessera.schedule.tile"(%A, %B)
       {m=128, n=128, k=64, autotune=true}
