%fragC = "tessera.tile.mma_sync"(%fragA, %fragB, %fragC)
          {m=16, n=16, k=16, dtype="bf16"}
