/** Speaks a text. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Field } from '../parts/field.tsx'
import { Input } from '../parts/input.tsx'
import { useAction } from '../state/action.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'
import { call } from './call.ts'
import { ModelField } from './model-field.tsx'
import { ParametersForm } from './parameters-form.tsx'
import { Trial } from './trial.tsx'

const speaks = ({ id, kind, capabilities }: CatalogueEntry): boolean =>
  kind === 'model' && capabilities.audio === true && /tts|speech|speaker|voice/.test(id)

export function Speech (): JSX.Element {
  const action = useAction()
  const model = useSignal('')
  const text = useSignal('The sea is calm tonight, the tide is full.')
  const voice = useSignal('alloy')
  const parameters = useSignal<Readonly<Record<string, unknown>>>({})
  const sound = useSignal<string | undefined>(undefined)
  useEffect(
    () => () => {
      if (sound.value !== undefined) URL.revokeObjectURL(sound.value)
    },
    []
  )
  const speak = async (): Promise<void> => {
    const response = await call('/v1/audio/speech', {
      body: { model: model.value, input: text.value, voice: voice.value, ...parameters.value }
    })
    if (sound.value !== undefined) URL.revokeObjectURL(sound.value)
    sound.value = URL.createObjectURL(await response.blob())
  }
  return (
    <Trial
      action={action}
      button='Speak'
      ready={model.value !== '' && text.value.trim() !== ''}
      onSubmit={speak}
      icon='sound'
      empty='The sound plays here'
      fields={
        <>
          <ModelField model={model} suits={speaks} />
          <Field label='Text'>
            {control => (
              <textarea
                {...control}
                class='textarea'
                rows={5}
                maxLength={4096}
                value={text.value}
                onInput={event => {
                  text.value = event.currentTarget.value
                }}
              />
            )}
          </Field>
          <Input
            label='Voice'
            value={voice.value}
            onInput={value => {
              voice.value = value
            }}
          />
          <ParametersForm
            schema='SpeechRequest'
            values={parameters.value}
            onChange={values => {
              parameters.value = values
            }}
            first={[]}
            without={['model', 'input', 'voice', 'stream_format']}
          />
        </>
      }
      result={
        sound.value !== undefined && (
          <>
            <audio controls autoPlay src={sound.value} aria-label='The spoken text' />
            <a href={sound.value} download='speech'>
              Download
            </a>
          </>
        )
      }
    />
  )
}
