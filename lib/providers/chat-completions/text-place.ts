/** Describes the chunks that hold a piece of text of choice 0. */

import { objectOf } from '../../json/guards.ts'
import type { TextPlace } from '../text-template.ts'

export const textPlace: TextPlace = {
  frameStart: 'data: ',
  opening: /"content":\s?"/,
  isAll: (text, { choices }) => {
    const choice = Array.isArray(choices) && choices.length === 1 ? objectOf(choices[0]) : undefined
    return objectOf(choice?.['delta'])?.['content'] === text
  }
}
