/**
 * GET /v1/model/info and /key/info: descriptions of models and of the caller's key for programs written for
 * LiteLLM.
 */

import { Type, type Static } from 'typebox'
import { OrNull } from './admin/common.ts'

const Flag = OrNull(Type.Boolean())
const Tokens = OrNull(Type.Integer())
const Usd = OrNull(Type.Number({ description: 'US dollars for one token; `null`: not known.' }))

export const LitellmModel = Type.Object({
  model_name: Type.String({ description: 'The name that calls may use.' }),
  litellm_params: Type.Object({ model: Type.String({ description: 'The model behind the name.' }) }),
  model_info: Type.Object({
    id: Type.String(),
    db_model: Type.Boolean(),
    key: Type.String(),
    litellm_provider: Type.String({ description: 'The name of the configured provider.' }),
    max_tokens: Tokens,
    max_input_tokens: Tokens,
    max_output_tokens: Tokens,
    input_cost_per_token: Usd,
    output_cost_per_token: Usd,
    cache_read_input_token_cost: Usd,
    supports_vision: Flag,
    supports_function_calling: Flag,
    supports_response_schema: Flag,
    supports_reasoning: Flag
  })
})
export type LitellmModel = Static<typeof LitellmModel>

export const LitellmModelList = Type.Object({ data: Type.Array(LitellmModel) })

const Amount = OrNull(Type.Number({ description: 'US dollars.' }))
const Time = OrNull(Type.String({ description: 'ISO 8601.' }))
const Duration = OrNull(Type.String({ description: '`1h`, `1d`, `7d`, `30d`; `null`: in total.' }))

export const LitellmKey = Type.Object({
  key: Type.String({ description: 'The id of the key.' }),
  info: Type.Object({
    key_alias: Type.String(),
    team_id: Type.String({ description: 'The id of its project.' }),
    team_alias: Type.String(),
    models: Type.Array(Type.String(), { description: 'Ids, names and patterns; empty: all.' }),
    expires: Time,
    blocked: Type.Boolean(),
    rpm_limit: OrNull(Type.Number()),
    tpm_limit: OrNull(Type.Number()),
    max_parallel_requests: OrNull(Type.Number()),
    spend: OrNull(
      Type.Number({
        description: 'US dollars spent in the period of `max_budget`; `null`: no budget counts it, or hidden.'
      })
    ),
    max_budget: Amount,
    budget_duration: Duration,
    budget_reset_at: Time,
    budget_limits: Type.Array(
      Type.Object({ max_budget: Amount, budget_duration: Duration, reset_at: Time, spend: Amount }),
      { description: 'Its other budgets.' }
    )
  })
})
export type LitellmKey = Static<typeof LitellmKey>
