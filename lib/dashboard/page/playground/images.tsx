/** Generates images, and shows partial ones in the meantime. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Field } from '../parts/field.tsx'
import { OutsideLink } from '../parts/outside-link.tsx'
import { useAction } from '../state/action.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'
import { call } from './call.ts'
import { ModelField } from './model-field.tsx'
import { ParametersForm } from './parameters-form.tsx'
import { readEvents } from '../api/read-events.ts'
import { Trial } from './trial.tsx'

/** The fields read from a complete answer and from the events of a stream. */
interface ImageData {
  readonly b64_json?: string | null
  readonly url?: string | null
}
interface ImageEvent extends ImageData {
  readonly type?: string
}

const draws = ({ kind, capabilities }: CatalogueEntry): boolean =>
  kind === 'model' && capabilities.image_generation === true

export function Images (): JSX.Element {
  const action = useAction()
  const model = useSignal('')
  const prompt = useSignal('A lighthouse in a storm, woodcut')
  const parameters = useSignal<Readonly<Record<string, unknown>>>({})
  const images = useSignal<readonly ImageData[]>([])
  const partial = useSignal(false)
  const draw = async (): Promise<void> => {
    images.value = []
    const streamed = parameters.value['stream'] === true
    const response = await call('/v1/images/generations', {
      body: { model: model.value, prompt: prompt.value, ...parameters.value }
    })
    if (!streamed) {
      const { data } = (await response.json()) as { readonly data: readonly ImageData[] }
      images.value = data
      return
    }
    for await (const events of readEvents<ImageEvent>(response)) {
      const last = events.findLast(({ b64_json }) => typeof b64_json === 'string')
      if (last === undefined) continue
      images.value = [last]
      partial.value = last.type?.endsWith('partial_image') === true
    }
  }
  return (
    <Trial
      action={action}
      button='Make the image'
      ready={model.value !== '' && prompt.value.trim() !== ''}
      onSubmit={draw}
      icon='image'
      empty='The image appears here'
      fields={
        <>
          <ModelField model={model} suits={draws} />
          <Field label='Prompt'>
            {control => (
              <textarea
                {...control}
                class='textarea'
                rows={4}
                value={prompt.value}
                onInput={event => {
                  prompt.value = event.currentTarget.value
                }}
              />
            )}
          </Field>
          <ParametersForm
            schema='ImageRequest'
            values={parameters.value}
            onChange={values => {
              parameters.value = values
            }}
            first={['size', 'stream']}
            without={['model', 'prompt']}
          />
        </>
      }
      result={
        images.value.length > 0 && (
          <div class='made-images'>
            {images.value.map((image, index) => {
              const picture = pictureOf(image)
              if (picture !== undefined) {
                return (
                  <img
                    key={index}
                    class={partial.value ? 'stale' : undefined}
                    src={picture}
                    alt={prompt.value}
                  />
                )
              }
              return (
                typeof image.url === 'string' && (
                  <OutsideLink key={index} url={image.url}>
                    Open the image at the provider
                  </OutsideLink>
                )
              )
            })}
          </div>
        )
      }
    />
  )
}

/** Returns the data of an image that is part of an answer; nothing if the image is elsewhere. */
function pictureOf ({ b64_json, url }: ImageData): string | undefined {
  if (typeof b64_json === 'string') return `data:image/png;base64,${b64_json}`
  return typeof url === 'string' && url.startsWith('data:image/') ? url : undefined
}
