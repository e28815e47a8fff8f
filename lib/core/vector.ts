export type VectorForm = 'float' | 'base64'

export interface Vector {
  readonly form: VectorForm
  /** A list of numbers, or one text, in JSON. */
  readonly json: Buffer
}
