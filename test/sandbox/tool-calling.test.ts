import t from 'tap'
import { weather, time, query, user, send, textOf, complete, message } from '../support/sandbox.ts'

t.test('tools are called when the question asks for them', async t => {
  const calls = async (content: string, more: object = {}): Promise<unknown[]> => {
    const { tool_calls: calls = [] } = await message({
      messages: user(content),
      tools: [weather, time, query],
      ...more
    })
    t.equal(new Set(calls.map(({ id }) => id)).size, calls.length, 'every call has its own id')
    return calls.map(({ function: f, custom: c }) =>
      f ? [f.name, JSON.parse(f.arguments)] : [c?.name, c?.input]
    )
  }
  const paris = ['get_weather', { city: 'Paris', unit: 'celsius', days: 1 }]
  t.same(await calls('call the tool get_weather with {"city":"Paris {1}"}'), [
    ['get_weather', { city: 'Paris {1}' }]
  ])
  t.same(await calls('What is the weather in Paris?'), [paris])
  t.same(await calls('What is the weather in New York for 3 days, in Fahrenheit?'),
    [['get_weather', { city: 'New York', unit: 'fahrenheit', days: 3 }]])
  t.same(await calls('weather and time in Paris'), [paris, ['get_time', {}]])
  t.same(await calls('use get_time, then get_weather with {"city":"A"} and get_weather with {"city":"B"}'),
    [['get_time', {}], ['get_weather', { city: 'A' }], ['get_weather', { city: 'B' }]])
  t.same(await calls('get_time get_time'), [['get_time', {}]])
  t.same(await calls('use run_sql with "select 1"'), [['run_sql', 'select 1']])
  t.same(await calls('run_sql please'), [['run_sql', 'run_sql please']])
  t.same(await calls('Hello'), [])
  t.same(await calls('forget_weather'), [], 'a name inside another word is none')

  t.same(await calls('weather', { tool_choice: 'none' }), [])
  t.same(await calls('Hello', { tool_choice: 'required' }), [
    ['get_weather', { city: 'Hello', unit: 'celsius', days: 1 }]
  ])
  t.same(await calls('weather', { tool_choice: { type: 'function', function: { name: 'get_time' } } }), [
    ['get_time', {}]
  ])
  t.same(await calls('weather', { tool_choice: { type: 'custom', custom: { name: 'run_sql' } } }), [
    ['run_sql', 'weather']
  ])
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [time] } }
  t.same(await calls('weather and time', { tool_choice: allowed }), [['get_time', {}]])
  t.same(await calls('time and weather in Paris', { parallel_tool_calls: false }), [paris])
})

t.test('an answer with tool calls has that finish reason', async t => {
  const finish = async (body: object) => (await complete({ messages: user('weather'), ...body })).choices[0]
  const tools = [weather]
  t.match(await finish({ tools }), { finish_reason: 'tool_calls', message: { content: null } })
  t.match(await finish({ tools, tool_choice: { type: 'function', function: { name: 'get_weather' } } }), {
    finish_reason: 'stop'
  })
  t.match(await finish({ functions: [weather.function] }), {
    finish_reason: 'function_call', message: { content: null, function_call: { name: 'get_weather' } }
  })
  t.match(await finish({ functions: [weather.function], function_call: 'none' }), { finish_reason: 'stop' })
  t.match(
    await finish({
      messages: user('Hi'),
      functions: [time.function, weather.function],
      function_call: { name: 'get_weather' }
    }),
    { message: { function_call: { name: 'get_weather' } } }
  )
  const unknown = await send({
    messages: user('Hi'),
    tools,
    tool_choice: { type: 'function', function: { name: 'x' } }
  })
  t.equal(unknown.status, 400)
  t.match(JSON.parse(await textOf(unknown)), { error: { param: 'tool_choice' } })
})
