import { parseIsoDate } from '../../core/parse-iso-date.ts'
import { listIn, textFact, type ListedFacts, type ModelList } from '../model-list.ts'

/** @see https://docs.claude.com/en/api/models-list */
export const anthropicModels: ModelList = {
  path: '/v1/models?limit=1000',
  headers: { 'anthropic-version': '2023-06-01' },
  read: body => listIn(body, 'data').map(item => ({
    id: item.id,
    facts: { ...textFact(item.display_name, 'displayName'), ...day(item.created_at) }
  }))
}

function day (value: unknown): ListedFacts {
  const time = typeof value === 'string' ? parseIsoDate(value) : NaN
  return Number.isNaN(time) ? {} : { createdAt: new Date(time).toISOString() }
}
