/** Puts together the dialect of OpenAI's Responses API: items in, items out. */

import { ResponsesRequest } from '../../../schemas/responses.ts'
import { withOwnFormat } from '../../chat/own-format.ts'
import { toResponse } from './complete.ts'
import { encodeResponse } from './encode.ts'
import { responsesErrors } from './errors.ts'
import { responsesInput, type ResponsesContext } from './input.ts'
import { responsesSizes } from './sizes.ts'
import { readStored } from './stored-input.ts'
import type { ResponseArchive } from './archive.ts'
import type { Dialect } from '../dialect.ts'

/** Makes the dialect. @param archive keeps responses; without it nothing is stored */
export function responsesDialect (archive?: ResponseArchive): Dialect<typeof ResponsesRequest, ResponsesContext> {
  return {
    schema: ResponsesRequest,
    sizes: responsesSizes,
    input: call => readStored(call.request, call.key.id, archive)?.then(stored => responsesInput(call, archive, stored)) ?? responsesInput(call, archive),
    fit: (request, { provider }) => withOwnFormat(request, provider),
    encode: encodeResponse,
    complete: (start, batches) => {
      const response = toResponse(start, batches)
      return start.context.keep?.(response) ?? response
    },
    errors: responsesErrors
  }
}
