/**
 * A guard of your own, which a configuration names: it refuses a call before it costs anything, at every
 * endpoint, in every dialect.
 *
 *     stages: [{ name: cards, use: ./guard.js }]
 */

import type { OwnStage } from 'headgate/stages'

const card = /\b\d{4}(?:[ -]?\d{4}){3}\b/
export default {
  request: texts => texts.some(text => card.test(text)) ? { refuse: 'it holds a card number' } : undefined
} satisfies OwnStage
