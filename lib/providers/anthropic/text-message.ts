/**
 * Describes text deltas. Padding may follow before the last brace: spaces that hide the length of the text.
 */

import { objectOf } from '../../json/type-guards.ts'
import type { TextMessage } from '../text-template.ts'

/** Event name of the messages. */
export const deltaName = 'content_block_delta'

const space = 0x20

export const textMessage: TextMessage = {
  opening: /"text":\s?"/,
  values: {
    split: behind => behind.endsWith('}') ? [behind.slice(0, -1).trimEnd(), '}'] : [behind],
    endOf: (data, start) => {
      let at = start
      while (data.charCodeAt(at) === space) at++
      return at
    },
    examples: ['', ' ']
  },
  hasNoOtherFacts: (text, { delta }) => objectOf(delta)?.['text'] === text
}
