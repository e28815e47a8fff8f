/**
 * A text of a JSON body that is kept as the bytes that arrived.
 *
 * A document of 50 MB is 67 MB of base64. As a string it would be in memory once for the body,
 * once for its JSON and once for every request that is made of it; here it is there once, in
 * memory that workers can share.
 */
export class LargeString {
  /** In UTF-8, on a `SharedArrayBuffer`. Its consumer may overwrite it. */
  readonly bytes: Buffer

  constructor (bytes: Buffer) {
    this.bytes = bytes
  }
}
