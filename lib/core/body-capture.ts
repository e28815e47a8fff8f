import type { CallTrace } from './call-trace.ts'
import type { ApiKey } from './key.ts'
import type { Reply } from './reply.ts'
import type { UploadForm } from './upload.ts'

/** Notes what a call receives and sends, for a project that keeps it or for its spans. */
export interface BodyCapture {
  /** Notes a complete body, in pieces. */
  readonly takeRequest: (pieces: readonly Uint8Array[]) => void
  readonly takeForm: (form: UploadForm) => void
  /** Returns the reply, and notes its body as it is read. */
  readonly watch: (reply: Reply) => Reply
}

/** Begins to note the bodies of a call of this key; `undefined` where nobody is to read them. */
export type CaptureBodies = (
  key: ApiKey,
  endpoint: string,
  trace?: Pick<CallTrace, 'isSampled'>
) => BodyCapture | undefined
