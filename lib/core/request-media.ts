/** The media of a large request that short strings stand for. */
export interface RequestMedia {
  /**
   * Returns the medium that a text stands for, as it was in the body but for escapes; `undefined` for a text
   * that stands for itself.
   */
  readonly bytesOf: (text: string) => Buffer | undefined
  /** Puts the media into JSON that was printed with what stands for it. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}
