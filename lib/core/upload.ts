/** What a multipart form contains. */

/** A file of a multipart form, kept until the call has ended. */
export interface UploadedFile {
  /** As the caller named it, without any path. */
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
  /** Opens the bytes again, for a retry. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** The first bytes, for recognising the format: at most 4,100. */
  readonly head: Uint8Array
}

/** The value of `Call.body` for multipart: text fields in order, and the files by field name. */
export interface UploadForm {
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly files: Readonly<Record<string, readonly UploadedFile[]>>
}
