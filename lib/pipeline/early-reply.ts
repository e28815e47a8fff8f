import type { Reply } from '../core/reply.ts'

/**
 * Ends a call before the end of its pipeline: a stage throws it with the answer to give, and the
 * pipeline resolves with that answer (`pipelines/pipeline`). It is not a failure, so it is no `Error`
 * and takes no stack, which would cost more than the answers it carries.
 */
export class EarlyReply {
  readonly reply: Reply

  constructor (reply: Reply) {
    this.reply = reply
  }
}
