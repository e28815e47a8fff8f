import { startDeadline } from '../async/start-deadline.ts'
import { copyCall, type Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'

/**
 * Gives calls a shorter deadline than the rest of the gateway does: one call in, one out, whose signal also
 * aborts `ms` milliseconds from now. The timer is cleared when the following stages have ended.
 */
export function deadline (ms: number) {
  return async function* <C extends Pick<Call, 'signal'>> (
    source: AsyncIterable<C>
  ): AsyncGenerator<Omit<C, 'signal'> & Pick<Call, 'signal'>> {
    for await (const call of source) {
      const { signal, end } = startDeadline(ms, call.signal, new GatewayError('timeout'))
      try {
        yield copyCall(call, { signal })
      } finally {
        end()
      }
    }
  }
}
