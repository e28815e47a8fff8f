/**
 * A guard of your own, which a configuration names: it refuses a call before it costs anything, at every
 * endpoint, in every dialect.
 *
 *     stages: [{ name: cards, use: ./guard.js }]
 */

import type { InspectTexts, ModuleGuard } from 'headgate/stages'

const hasCard = (text: string): boolean => /\b\d{4}(?:[ -]?\d{4}){3}\b/.test(text)
const request: InspectTexts = texts =>
  texts.some(hasCard) ? { refuse: 'it contains a card number' } : undefined
export default { request } satisfies ModuleGuard
