import { GatewayError } from '../core/errors.ts'
import type { Call } from '../core/call.ts'
import type { Stage } from '../core/stage.ts'

/**
 * Gives calls less time than the rest of the gateway does: one call in, one out, whose signal also
 * aborts `ms` milliseconds from now. The timer goes when the stages after this one have ended.
 */
export function deadline<C extends Pick<Call, 'signal'>> (ms: number): Stage<C> {
  return async function * (source) {
    for await (const call of source) {
      const controller = new AbortController()
      const timer = setTimeout(() => controller.abort(new GatewayError('timeout')), ms)
      try {
        yield { ...call, signal: AbortSignal.any([call.signal, controller.signal]) }
      } finally {
        clearTimeout(timer)
      }
    }
  }
}
