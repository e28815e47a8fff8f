/**
 * Moderations as OpenAI defined them. Mistral's have the same format without `flagged`.
 *
 * @see https://platform.openai.com/docs/api-reference/moderations
 */

import { objectOf } from '../../json/type-guards.ts'
import { inBandError, readError } from '../chat-completions/errors.ts'
import { jsonBody, jsonHeaders } from '../json-api.ts'
import { invalidResponse, throwFailure } from '../provider-failure.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { Adapter, Moderation, ModerationInput } from '../provider.ts'

/** Returns one moderation per text, in order. */
export const openaiModerations: Adapter<ModerationInput, ResultEvent<readonly Moderation[]>> = {
  request: input => ({
    method: 'POST',
    path: '/moderations',
    headers: jsonHeaders,
    body: jsonBody({ model: input.route.model, input: input.request.texts }, input)
  }),
  read: (_head, { request: { texts } }) => ({
    as: 'json',
    read: value => [{ type: 'result', result: moderationsIn(value, texts.length) }]
  }),
  error: readError
}

function moderationsIn (value: unknown, count: number): readonly Moderation[] {
  const answer = objectOf(value) ?? {}
  const { results } = answer
  if (!Array.isArray(results) || results.length !== count) {
    throwFailure(inBandError(answer, false), 'no result for each text')
  }
  return results.map((result: unknown) => {
    const categories = objectOf(objectOf(result)?.['categories'])
    if (categories === undefined) throw invalidResponse('a result without categories')
    return { categories: Object.keys(categories).filter(name => categories[name] === true) }
  })
}
