import { pipeline, type Handler } from './pipeline.ts'
import { LitellmModelList, type LitellmModel } from '../schemas/litellm-info.ts'
import { configuredNames, modelsBehind, otherModels, type ModelServices } from './models.ts'
import { toJsonReply } from '../lib/core/reply.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { auth } from '../lib/stages/auth.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { ModelEntry } from '../lib/core/model.ts'
import type { Docs } from './docs.ts'

export const modelInfoDocs: Docs = {
  operationId: 'modelInfo',
  group: 'Aliases',
  summary: 'Describe the models behind each name that the key may use, in the format of LiteLLM.',
  answers: [{ description: 'One entry for each model behind each name.', schema: LitellmModelList }],
  query: { litellm_model_id: { description: 'Only the models with this id.', type: 'string' } }
}

/** Serves GET /v1/model/info: the models that GET /v1/models lists, in the form of LiteLLM. */
export function modelInfo (services: ModelServices): Handler<Call> {
  const { settings, models } = services
  const names = configuredNames(settings)
  const modelsOf = modelsBehind(services)
  const list = ({ key, query = '' }: AuthedCall): LitellmModel[] => {
    const named = [...names].flatMap(([name, isListed]) =>
      isListed ? modelsOf(name, key).map(entry => describe(name, entry)) : []
    )
    const all = [...named, ...otherModels(models, names, key).map(entry => describe(entry.id, entry))]
    const id = new URLSearchParams(query).get('litellm_model_id')
    return id === null ? all : all.filter(({ model_info: info }) => info.id === id)
  }
  return pipeline(auth(services), replyWith(async (call: AuthedCall) => toJsonReply({ data: list(call) })))
}

function describe (name: string, { id, providerId, capabilities, price }: ModelEntry): LitellmModel {
  const limit = (field: string): number | null => {
    const value = capabilities[field]
    return typeof value === 'number' ? value : null
  }
  const can = (field: string): boolean | null => {
    const value = capabilities[field]
    return typeof value === 'boolean' ? value : null
  }
  return {
    model_name: name,
    litellm_params: { model: id },
    model_info: {
      id,
      db_model: false,
      key: id,
      litellm_provider: providerId,
      max_tokens: limit('output_token_limit'),
      max_input_tokens: limit('input_token_limit'),
      max_output_tokens: limit('output_token_limit'),
      input_cost_per_token: perToken(price?.input),
      output_cost_per_token: perToken(price?.output),
      cache_read_input_token_cost: perToken(price?.cachedInput),
      supports_vision: can('vision'),
      supports_function_calling: can('tools'),
      supports_response_schema: can('structured_output'),
      supports_reasoning: can('thinking')
    }
  }
}

/** @param usd for a million tokens */
function perToken (usd: number | undefined): number | null {
  return usd === undefined ? null : Number((usd / 1e6).toPrecision(12))
}
