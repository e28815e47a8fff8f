import { readUsage } from '../chat-completions/usage.ts'
import { objectOf, objectsOf } from '../../json/type-guards.ts'
import type { Usage } from '../../core/usage.ts'
import type { WireItem, WireResponse } from './wire.ts'

/** Reads the usage of a response: tokens, web searches (billed individually), and images created by tools. */
export function responseUsage ({ usage: reported, output }: WireResponse): Usage | undefined {
  const usage = readUsage(reported)
  if (usage === undefined) return undefined
  const items = objectsOf(output)
  const searches = items.filter(isSearch).length
  const images = items.filter(({ type }) => type === 'image_generation_call').length
  return { ...usage, ...searches > 0 && { searches }, ...images > 0 && { images } }
}

/** Opening a page, or finding text in it, costs only tokens. */
function isSearch ({ type, action }: WireItem): boolean {
  const { type: act = 'search' } = objectOf(action) ?? {}
  return type === 'web_search_call' && act === 'search'
}
