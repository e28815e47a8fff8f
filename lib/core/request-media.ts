/** The media of a large request, taken out of its parsed body: short placeholders stand for them. */
export interface RequestMedia {
  /**
   * Returns the medium of a placeholder, as in the body but without escapes; `undefined` for any other text.
   */
  readonly bytesOf: (text: string) => Buffer | undefined
  /** Puts the media into JSON that was printed with placeholders. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}
