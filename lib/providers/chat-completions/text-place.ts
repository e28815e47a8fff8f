/** Describes the chunks that hold a piece of text of choice 0. */

import { objectOf, onlyObjectOf } from '../../json/guards.ts'
import type { TextPlace } from '../text-template.ts'

export const textPlace: TextPlace = {
  frameStart: 'data: ',
  opening: /"content":\s?"/,
  isAll: (text, { choices }) => objectOf(onlyObjectOf(choices)?.['delta'])?.['content'] === text
}
