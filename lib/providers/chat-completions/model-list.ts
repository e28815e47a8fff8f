import { listIn, type ModelList } from '../model-list.ts'

export const chatCompletionsModels: ModelList = {
  path: '/models',
  headers: {},
  read: body => listIn(body, 'data').map(({ id, created }) => ({
    id,
    // Servers that do not know report 0.
    facts: typeof created === 'number' && created > 0 && created < 1e11
      ? { createdAt: new Date(created * 1000).toISOString() }
      : {}
  }))
}
