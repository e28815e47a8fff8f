/** The Responses API of OpenAI: items in, items out. */

import { ResponsesRequest } from '../../../schemas/responses.ts'
import { toResponse } from './complete.ts'
import { encodeResponse } from './encode.ts'
import { responsesErrors } from './errors.ts'
import { responsesInput, type ResponsesContext } from './input.ts'
import { responsesSizes } from './sizes.ts'
import type { Dialect } from '../dialect.ts'

export const responses: Dialect<typeof ResponsesRequest, ResponsesContext> = {
  schema: ResponsesRequest,
  sizes: responsesSizes,
  input: responsesInput,
  encode: encodeResponse,
  complete: toResponse,
  errors: responsesErrors
}
