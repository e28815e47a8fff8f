/**
 * Simulates the reliability promised for a list of models: in-process providers fail by a seeded draw per
 * attempt, so that every run sees the same failures whatever the timing.
 */

import { createHash } from 'node:crypto'
import t from 'tap'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { GatewayError, asGatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { providerCall } from '../../lib/stages/provider-call.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { rounds } from '../support/rounds.ts'
import { chatAnswer } from '../support/upstream.ts'
import { provider, settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Route } from '../../lib/core/route.ts'
import type { Provider, UpstreamResponse } from '../../lib/providers/provider.ts'

const answer = chatAnswer('fine')

/** The ways in which an attempt fails, in turn. */
const failures = ['500', '503', '429', 'reset'] as const

interface Simulation {
  readonly ask: (index: number) => Promise<boolean>
  /** Requests that the providers received. */
  readonly requests: () => number
  readonly failed: () => number
}

/**
 * @param shares of the attempts at each provider that succeed; may change during the run
 * @param now the clock of the routing
 */
function simulate (shares: readonly number[], now?: () => number): Simulation {
  let requests = 0
  let failed = 0
  const providers = new Map(
    shares.map((_, place): [string, Provider] => {
      const id = `p${place}`
      const attempts = new Map<string, number>()
      return [
        id,
        {
          ...provider(id),
          retries: 3,
          adapters: { chat: chatCompletions },
          transport: {
            send: async ({ body }) => {
              requests++
              const { user } = JSON.parse(String(body)) as { user: string } // as we have printed it
              const attempt = (attempts.get(user) ?? 0) + 1
              attempts.set(user, attempt)
              const draw = createHash('sha256').update(`${id} ${user} ${attempt}`).digest()
              await new Promise(resolve => {
                setImmediate(resolve)
              })
              if (draw.readUInt32BE() / 2 ** 32 < (shares[place] ?? 0)) return response(200, answer)
              failed++
              const failure = failures[(draw[4] ?? 0) % failures.length]
              if (failure === 'reset') {
                throw new GatewayError('upstream_unreachable', { staleConnection: true })
              }
              return response(Number(failure), '{}')
            }
          }
        }
      ]
    })
  )
  const routes = [...providers.keys()].map((providerId): Route => ({
    providerId,
    model: 'm',
    modelId: `${providerId}/m`
  }))
  const [first = routes[0], ...others] = routes
  if (first === undefined) throw new Error('no provider')
  const stage = providerCall({
    providers,
    settings: settings(),
    abandonedAnswers: new AbandonedAnswers(),
    routingState: new RoutingState(now)
  }, 'chat')
  return {
    requests: () => requests,
    failed: () => failed,
    ask: async index => {
      const request: ChatInput = {
        model: first.modelId,
        messages: [{ role: 'user', content: 'hi' }],
        user: String(index)
      }
      const call = routedCall(request, { id: `call-${index}`, routes: [first, ...others] })
      try {
        for await (const _ of stage(once(call))) return true
        return false
      } catch (error) {
        if (asGatewayError(error).fault === undefined) throw error
        return false
      }
    }
  }
}

function response (status: number, text: string): UpstreamResponse {
  const bytes = Buffer.from(text)
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: {
      buffer: async () => bytes,
      cancel: () => undefined,
      async *[Symbol.asyncIterator] () {
        yield bytes
      }
    }
  }
}

/** Makes many calls, some at once; returns the share that succeeded. */
async function share (simulation: Simulation, calls: number, atOnce: number, from = 0): Promise<number> {
  let next = from
  let succeeded = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < from + calls) if (await simulation.ask(next++)) succeeded++
    })
  )
  return succeeded / calls
}

t.test(
  'two providers that answer 70 % of attempts answer 99.9 % of calls, without needless requests',
  async t => {
    const simulation = simulate([0.7, 0.7])
    const calls = rounds(10_000)
    const succeeded = await share(simulation, calls, 200)
    // Of 100,000 calls 6.6 are expected to fail in four attempts at each provider.
    t.ok(succeeded >= 0.9995, `${succeeded} of calls succeed`)
    const needed = calls + simulation.failed()
    t.ok(simulation.requests() <= needed * 1.1, `${simulation.requests()} requests, ${needed} needed`)
    t.ok(simulation.requests() > calls * 1.3, 'failures were there')
  }
)

t.test(
  'providers that are all down get at most 1.2 requests per call, and are found when they recover',
  async t => {
    const shares = [0, 0]
    let nowMs = 0
    const simulation = simulate(shares, () => nowMs)
    t.equal(await share(simulation, 1000, 50), 0)
    t.ok(simulation.requests() <= 1200, `${simulation.requests()} requests of 1000 calls`)
    shares[1] = 1
    nowMs += 61_000
    t.equal(await share(simulation, 100, 1, 1000), 1, 'the second one is back')
    shares[0] = 1
    shares[1] = 0
    nowMs += 61_000
    const before = simulation.requests()
    t.equal(await share(simulation, 100, 1, 2000), 1, 'the first one instead')
    t.ok(simulation.requests() - before <= 102, 'which is tried first from then on')
  }
)
