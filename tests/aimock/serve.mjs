// Answers like a provider until its input ends. The argument is a list of answers as JSON, the first line of output the address.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 3, strict: true });
const answers = JSON.parse(process.argv[2]);
mock.addFixtures(answers.map((response, sequenceIndex) => ({ match: { userMessage: "Correct the price.", sequenceIndex }, response })));
console.log(await mock.start());
process.stdin.resume();
process.stdin.on("end", async () => {
  await mock.stop();
  process.exit(0);
});
