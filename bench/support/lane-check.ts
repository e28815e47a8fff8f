/** Creates the check of a lane, by its dialect or endpoint. */

import { AnswerCheck, type Expected } from '../../lib/load/answer-check.ts'
import { callerDialects, type CallerDialectName } from './caller-dialects.ts'
import { media } from './media.ts'

export interface LaneExpected extends Expected {
  /** The dialect of the answer. Default: chat completions */
  readonly dialect?: CallerDialectName
  /** The name of the request, if it is not a conversation. */
  readonly media?: string
}

/** Returns a check of the answers of one lane. */
export function laneCheck ({ dialect = 'chat', media: name, ...expected }: LaneExpected): AnswerCheck {
  return new AnswerCheck(expected, callerDialects[dialect], media.find(medium => medium.name === name)?.check)
}
