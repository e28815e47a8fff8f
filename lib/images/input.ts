/** The two requests that come as forms, with their files. */

import type { FormRequest } from '../validation/form.ts'
import type { ImageEditRequest, ImageVariationRequest } from '../../schemas/images.ts'

export type ImageEdit = FormRequest<ImageEditRequest>
export type ImageVariation = FormRequest<ImageVariationRequest>
