import { Type } from 'typebox'
import { MapOf } from './nullable.ts'

/** Stands for an uploaded file in the schema of a form; `validateForm` replaces it by the file. */
export interface FileMark { readonly file: 'uploaded' }

/** Returns a file of a multipart form. A list of files is `Type.Array(FormFile())`. */
export function FormFile (description = 'A file.') {
  return Type.Unsafe<FileMark>({
    type: 'string', contentMediaType: 'application/octet-stream', description
  })
}

/** Fields of any form that say on whose behalf a call is made. */
export const FormAttribution = Type.Object({
  user: Type.String(),
  safety_identifier: Type.String(),
  tags: Type.Array(Type.String()),
  metadata: MapOf(Type.Unknown())
})
