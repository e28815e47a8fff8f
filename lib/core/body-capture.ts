import type { CallTrace } from './call-trace.ts'
import type { ApiKey } from './key.ts'
import type { Reply } from './reply.ts'
import type { UploadForm } from './upload.ts'

/** Captures the bodies that a call receives and sends, for its project or its spans. */
export interface BodyCapture {
  /** Captures a complete body, in pieces. */
  readonly takeRequest: (pieces: readonly Uint8Array[]) => void
  readonly takeForm: (form: UploadForm) => void
  /** Returns the reply, and captures its body as it is read. */
  readonly watch: (reply: Reply) => Reply
}

/** Starts the capture for a call of this key; `undefined` if nobody needs its bodies. */
export type CaptureBodies = (
  key: ApiKey,
  endpoint: string,
  trace?: Pick<CallTrace, 'isSampled'>
) => BodyCapture | undefined
