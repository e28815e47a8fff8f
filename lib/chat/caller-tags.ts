import { isObject, type JsonObject } from '../json/guards.ts'
import type { CallRecord } from '../core/record.ts'

const maxTags = 20
const maxLength = 64

/**
 * Takes the list `metadata.tags` out of a request, as programs of LiteLLM send it: providers refuse it, since
 * their metadata are pairs of texts. The record gets the first 20 tags, cut at 64 characters.
 *
 * @returns the same body where it has none
 */
export function takeTags (body: unknown, record: Pick<CallRecord, 'tags'>): unknown {
  if (!isObject(body) || !isObject(body['metadata'])) return body
  const { tags, ...metadata } = body['metadata']
  if (!Array.isArray(tags)) return body
  const texts = tags.filter(tag => typeof tag === 'string')
  record.tags = texts.slice(0, maxTags).map(tag => tag.slice(0, maxLength))
  const { metadata: _, ...others } = body
  return Object.keys(metadata).length === 0 ? others : { ...others, metadata } satisfies JsonObject
}
