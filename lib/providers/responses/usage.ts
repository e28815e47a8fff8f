import { usageOf } from '../chat-completions/usage.ts'
import { objectOf, objectsOf } from '../../json/guards.ts'
import type { Usage } from '../../core/usage.ts'
import type { WireItem, WireResponse } from './wire.ts'

/** Reads what a response used: its tokens, and its searches of the web, which are billed one by one. */
export function responseUsage ({ usage: reported, output }: WireResponse): Usage | undefined {
  const usage = usageOf(reported)
  const searches = objectsOf(output).filter(isSearch).length
  return usage === undefined || searches === 0 ? usage : { ...usage, searches }
}

/** To open a page that was found, or to look for a text in it, costs no more than its tokens. */
function isSearch ({ type, action }: WireItem): boolean {
  const { type: act = 'search' } = objectOf(action) ?? {}
  return type === 'web_search_call' && act === 'search'
}
