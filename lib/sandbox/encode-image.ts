import { SandboxRefusal } from './sandbox-refusal.ts'
import { encodePng, type Raster } from './png.ts'

export type ImageFormat = 'png' | 'jpeg' | 'webp'

/**
 * Returns the bytes of an image file. PNG is encoded here; other formats by sharp, an optional dependency
 * that is loaded when first needed.
 *
 * @param quality 0–100, for JPEG and WebP
 * @throws SandboxRefusal 400 if sharp is not installed
 */
export async function encodeImage (raster: Raster, format: ImageFormat, quality: number): Promise<Buffer> {
  if (format === 'png') return await encodePng(raster)
  const { default: sharp } = await import('sharp').catch(() => {
    throw new SandboxRefusal(400, 'The sandbox makes only PNG here: sharp is not installed.', {
      param: 'output_format'
    })
  })
  const { pixels, width, height } = raster
  const image = sharp(pixels, { raw: { width, height, channels: 4 } })
  const options = { quality: Math.max(1, quality) }
  return await (format === 'jpeg' ? image.jpeg(options) : image.webp(options)).toBuffer()
}
