import type { Call } from './call.ts'
import type { Reply } from './reply.ts'

/** One path of the API: how its body comes in, and the pipeline that answers. */
export interface Endpoint {
  /** Stable, used by key scopes, the log and the usage ledger: `chat`, `embeddings`, … */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As @koa/router writes it: `/v1/models/*model`. */
  readonly path: string
  readonly body: 'none' | 'json' | 'multipart'
  /** Largest body in bytes, of a form all its files together; a larger one is 413. */
  readonly maxBodyBytes: number
  /** The field to name in a 413, when only one field of a JSON body can be that large. */
  readonly largeField?: string
  /**
   * True: the long strings in base64 of a body that is too large for the store are kept as bytes, see
   * `Call.media`.
   */
  readonly keepsMedia?: boolean
  /**
   * Bodies of JSON from this size on, large requests aside, are kept as they came for as long as the call,
   * see `Call.callerBody`. Default: none.
   */
  readonly keepsTextFromBytes?: number
  /** True for another path of an endpoint; the log names the path. */
  readonly isAlias?: boolean
  /** True: the call says where its request came from, see `Call.connection`. */
  readonly readsConnection?: boolean
  readonly handle: (call: Call) => Promise<Reply>
}
