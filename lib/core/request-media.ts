/** The media of a large request that short strings stand for. */
export interface RequestMedia {
  /** Puts the media into JSON that was printed with what stands for it. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}
