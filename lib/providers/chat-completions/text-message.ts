/** Describes the chunks that hold a piece of text of choice 0. */

import { objectOf, onlyObjectOf } from '../../json/guards.ts'
import type { TextMessage } from '../text-template.ts'

export const textMessage: TextMessage = {
  opening: /"content":\s?"/,
  hasNoOtherFacts: (text, { choices }) => objectOf(onlyObjectOf(choices)?.['delta'])?.['content'] === text
}
