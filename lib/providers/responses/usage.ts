import { readUsage } from '../chat-completions/usage.ts'
import { objectOf, objectsOf } from '../../json/guards.ts'
import type { Usage } from '../../core/usage.ts'
import type { WireItem, WireResponse } from './wire.ts'

/**
 * Reads what a response used: its tokens, its searches of the web, which are billed one by one, and the
 * images that a tool made.
 */
export function responseUsage ({ usage: reported, output }: WireResponse): Usage | undefined {
  const usage = readUsage(reported)
  if (usage === undefined) return undefined
  const items = objectsOf(output)
  const searches = items.filter(isSearch).length
  const images = items.filter(({ type }) => type === 'image_generation_call').length
  return { ...usage, ...searches > 0 && { searches }, ...images > 0 && { images } }
}

/** To open a page that was found, or to look for a text in it, costs no more than its tokens. */
function isSearch ({ type, action }: WireItem): boolean {
  const { type: act = 'search' } = objectOf(action) ?? {}
  return type === 'web_search_call' && act === 'search'
}
