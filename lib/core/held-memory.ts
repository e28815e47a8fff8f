/** Memory of one incoming answer, counted in `limits.body_memory_bytes`. */
export interface HeldMemory {
  /** @throws GatewayError `overloaded`, `file_too_large` */
  readonly take: (bytes: number) => void
  /** Releases some of the memory. */
  readonly release: (bytes: number) => void
}

/** Returns memory in the share of a key; without an id, in the share that all keys use together. */
export type HoldMemory = (keyId: string | undefined) => HeldMemory
