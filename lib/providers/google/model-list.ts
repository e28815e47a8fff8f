import { listIn, textFact, type ModelList } from '../model-list.ts'

/** @see https://ai.google.dev/api/models#method:-models.list */
export const googleModels: ModelList = {
  path: '/v1beta/models?pageSize=1000',
  headers: {},
  read: body => listIn(body, 'models').map(item => ({
    id: typeof item.name === 'string' ? item.name.replace(/^models\//, '') : undefined,
    facts: {
      ...textFact(item.displayName, 'displayName'),
      ...textFact(item.description, 'description'),
      capabilities: {
        ...limit(item.inputTokenLimit, 'input_token_limit'),
        ...limit(item.outputTokenLimit, 'output_token_limit')
      }
    }
  }))
}

function limit (value: unknown, name: string): Record<string, number> {
  return typeof value === 'number' && Number.isInteger(value) ? { [name]: value } : {}
}
