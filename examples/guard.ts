/**
 * A guard of your own, which a configuration names: it refuses a call before it costs anything, at every
 * endpoint, in every dialect.
 *
 *     stages: [{ name: cards, use: ./guard.js }]
 */

import type { OwnStage } from 'headgate/stages'

const cardNumber = /\b\d{4}(?:[ -]?\d{4}){3}\b/
const guard: OwnStage = {
  request: texts =>
    texts.some(text => cardNumber.test(text)) ? { refuse: 'it holds the number of a card' } : undefined
}
export default guard
