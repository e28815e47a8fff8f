import { startDeadline } from '../async/start-deadline.ts'
import { copyCall, type RoutedCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { chain } from '../pipeline/chain.ts'
import { once } from '../pipeline/sources.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import { speaksDialect } from '../providers/speaks-dialect.ts'
import { fitRoutes } from './fit-routes.ts'
import { providerCall, type ProviderCallServices } from './provider-call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'

export interface CountedPrompt {
  /** The id of the call. */
  readonly id: string
  readonly by: 'provider' | 'estimate'
  readonly tokens: number
}

export interface CountPromptOptions {
  /**
   * Clients wait for a count before they send the prompt: a timely estimate is worth more than a late count.
   * Default: 5 seconds.
   */
  readonly maxMs?: number
  /**
   * True if clients react to errors of a provider of their own dialect: its error is thrown. Default:
   * false.
   */
  readonly passesErrors?: boolean
}

/**
 * Counts the tokens of each call's prompt. The provider of the first route counts if it can; otherwise the
 * gateway estimates. It also estimates when the provider fails or takes longer than `maxMs`, unless
 * `passesErrors` is set.
 */
export function countPrompt<C> (
  services: ProviderCallServices & Pick<Services, 'models'>,
  dialect: Pick<Dialect<never, C>, 'fit' | 'direct'>,
  estimate: (request: ChatInput) => number,
  { maxMs = 5000, passesErrors = false }: CountPromptOptions = {}
): Stage<RoutedCall<ChatInput>, CountedPrompt> {
  const count = chain(fitRoutes(services, dialect, 'tokenCount'), providerCall(services, 'tokenCount'))
  const countBy = async (call: RoutedCall<ChatInput>): Promise<CountedPrompt> => {
    for await (const {
      events: [event]
    } of count(once(call))) {
      if (event !== undefined) return { id: call.id, by: 'provider', tokens: event.result }
    }
    throw new GatewayError('upstream_invalid_response', { cause: 'no count' })
  }
  return map(async call => {
    const provider = services.providers.get(call.routes[0].providerId)
    if (passesErrors && speaksDialect(provider, dialect.direct?.dialect, 'tokenCount')) {
      return await countBy(call)
    }
    const estimated = { id: call.id, by: 'estimate', tokens: estimate(call.request) } as const
    if (provider?.adapters.tokenCount === undefined) return estimated
    const { signal, end } = startDeadline(maxMs, call.signal, new GatewayError('upstream_timeout'))
    try {
      return await countBy(copyCall(call, { signal }))
    } catch {
      call.signal.throwIfAborted()
      return estimated // the attempts in the record show why
    } finally {
      end()
    }
  })
}
