/** Reads answers of servers that a command names, within a memory limit. */

/** Far above any answer that a command reads. */
const maxBytes = 64 * 1024 * 1024

export interface ReadAnswer {
  readonly status: number
  /** True for a 2xx status. */
  readonly ok: boolean
  readonly text: string
}

/**
 * Reads an answer to its end.
 *
 * @throws Error for an answer of more than 64 MB, or one that breaks off
 */
export async function readAnswer ({ status, ok, body }: Response): Promise<ReadAnswer> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of body ?? []) {
    sizeBytes += piece.byteLength
    if (sizeBytes > maxBytes) throw new Error('the answer is larger than 64 MB')
    pieces.push(piece)
  }
  return { status, ok, text: Buffer.concat(pieces).toString() }
}
