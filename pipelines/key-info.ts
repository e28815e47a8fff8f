import { pipeline, type Handler } from './pipeline.ts'
import { keyStatusOf, type KeyServices } from './key.ts'
import { LitellmKey } from '../schemas/litellm-info.ts'
import { GatewayError } from '../lib/core/errors.ts'
import { toJsonReply } from '../lib/core/reply.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { auth } from '../lib/stages/auth.ts'
import type { KeyStatus, LimitStatus } from '../schemas/key-status.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { Docs } from './docs.ts'

export const keyInfoDocs: Docs = {
  operationId: 'keyInfo',
  group: 'Aliases',
  summary: 'Describe the key of the call in the format of LiteLLM. No other key is described.',
  admitsEveryKey: true,
  answers: [{ description: 'The key, without its secret.', schema: LitellmKey }]
}

/** Serves GET /key/info: describes any key to itself. */
export function keyInfo (services: KeyServices): Handler<Call> {
  return pipeline(
    auth(services, { admitsEveryKey: true }),
    replyWith(async (call: AuthedCall) => {
      if (new URLSearchParams(call.query).has('key')) {
        throw new GatewayError('invalid_value', {
          param: 'key',
          message: 'A key can only ask about itself: authenticate with it, and leave out `key`.'
        })
      }
      return toJsonReply(litellmKeyOf(await keyStatusOf(services, call)))
    })
  )
}

/** Periods in LiteLLM's notation. */
const durations: Readonly<Record<string, string | null>> = {
  hour: '1h', day: '1d', week: '7d', month: '30d', total: null
}

function litellmKeyOf ({ id, name, project, models, expires_at: expiresAt, limits }: KeyStatus): LitellmKey {
  const own = limits.filter(({ of }) => of === 'key')
  const amountOf = (limit: LimitStatus['name']): number | null =>
    own.find(each => each.name === limit)?.limit ?? null
  const [budget, ...others] = own.filter(each => each.name === 'budget').map(litellmBudgetOf)
  return {
    key: id,
    info: {
      key_alias: name,
      team_id: project.id,
      team_alias: project.name,
      models: models ?? [],
      expires: timeOf(expiresAt),
      blocked: false,
      rpm_limit: amountOf('requests_per_minute'),
      tpm_limit: amountOf('tokens_per_minute'),
      max_parallel_requests: amountOf('concurrent_calls'),
      spend: budget?.spend ?? null,
      max_budget: budget?.max_budget ?? null,
      budget_duration: budget?.budget_duration ?? null,
      budget_reset_at: budget?.reset_at ?? null,
      budget_limits: others
    }
  }
}

function litellmBudgetOf ({ limit, remaining, resets_at: resetsAt, window }: LimitStatus) {
  return {
    max_budget: limit,
    budget_duration: window !== null && Object.hasOwn(durations, window) ? durations[window] ?? null : window,
    reset_at: timeOf(resetsAt),
    spend: remaining === null ? null : Number((limit - remaining).toFixed(9))
  }
}

/** @param seconds Unix time */
function timeOf (seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString()
}
