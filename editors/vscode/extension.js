// Starts the language server of spn and leaves the rest to it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration("spn").get("command");
  client = new LanguageClient("spn", "spn", { command, args }, { documentSelector: [{ language: "spn" }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
