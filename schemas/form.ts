import { Type } from 'typebox'

/** Stands for an uploaded file in the schema of a form; `validateForm` replaces it by the file. */
export interface FileMark { readonly file: 'uploaded' }

/** Returns a file of a multipart form. A list of files is `Type.Array(FormFile())`. */
export function FormFile (description = 'A file.') {
  return Type.Unsafe<FileMark>({
    type: 'string', contentMediaType: 'application/octet-stream', description
  })
}
