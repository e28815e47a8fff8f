/** GET /v1/model/info: what programs written for LiteLLM read of models. */

import { Type, type Static } from 'typebox'
import { Nullable } from './nullable.ts'

const Flag = Nullable(Type.Boolean())
const Tokens = Nullable(Type.Integer())
const Usd = Nullable(Type.Number({ description: 'US dollars for one token; `null`: not known.' }))

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
